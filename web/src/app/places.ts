import type { IconName } from '../components/Icon'
import type { TextKey } from '../i18n/en'
import { address } from './addresses'

export interface Place {
  readonly name: TextKey
  readonly icon: IconName
  readonly to: string
}

/** The pages of a project, in the order of the navigation. */
export function placesOf(projectId: number): { readonly write: readonly Place[]; readonly build: readonly Place[] } {
  const to = address(projectId)
  return {
    write: [{ name: 'nav.documents', icon: 'document', to: to.documents }],
    build: [
      { name: 'nav.tables', icon: 'table', to: to.tables },
      { name: 'nav.tools', icon: 'tool', to: to.tools },
      { name: 'nav.endpoints', icon: 'endpoint', to: to.endpoints },
      { name: 'nav.retrieval', icon: 'retrieval', to: to.retrieval },
      { name: 'nav.status', icon: 'status', to: to.status },
    ],
  }
}
