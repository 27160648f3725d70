import { useQuery } from '@tanstack/react-query'
import { listDocumentsOptions } from '../api'
import { useNavigateTo } from '../components/PageLink'
import { Palette, type PaletteCommand } from '../features/palette/Palette'
import { useText } from '../i18n/language'
import { address } from './addresses'
import { placesOf } from './places'
import { recentDocuments } from './recent'
import { withModifier } from './shortcuts'
import { chooseTheme } from './theme'

interface PaletteProps {
  projectId: number
  onClose: () => void
  onPanel: (panel: 'search' | 'replace-document' | 'replace-project') => void
}

/** The command palette of a project. */
export default function ProjectPalette({ projectId, onClose, onPanel }: PaletteProps) {
  const { t, language, choose } = useText()
  const navigate = useNavigateTo()
  const documents = useQuery(listDocumentsOptions({ path: { project_id: projectId } }))
  const to = address(projectId)
  const places = placesOf(projectId)
  const commands: PaletteCommand[] = [
    {
      id: 'search',
      label: t('search.title'),
      icon: 'search',
      shortcut: withModifier('⇧F'),
      run: () => onPanel('search'),
    },
    {
      id: 'replace-document',
      label: t('replace.openDocument'),
      icon: 'replace',
      shortcut: withModifier('H'),
      run: () => onPanel('replace-document'),
    },
    {
      id: 'replace-project',
      label: t('replace.openProject'),
      icon: 'replace',
      shortcut: withModifier('⇧H'),
      run: () => onPanel('replace-project'),
    },
    ...[...places.write, ...places.build].map((place) => ({
      id: place.name,
      label: t('palette.goTo', { place: t(place.name) }),
      icon: place.icon,
      run: () => navigate(place.to),
    })),
    { id: 'projects', label: t('nav.allProjects'), icon: 'folder', run: () => navigate('/') },
    { id: 'light', label: t('palette.light'), icon: 'sun', run: () => chooseTheme('light') },
    { id: 'dark', label: t('palette.dark'), icon: 'moon', run: () => chooseTheme('dark') },
    {
      id: 'language',
      label: language === 'en' ? '切换到中文' : 'Switch to English',
      icon: 'language',
      run: () => choose(language === 'en' ? 'zh' : 'en'),
    },
  ]
  return (
    <Palette
      projectId={projectId}
      documents={documents.data?.documents ?? []}
      recent={recentDocuments(projectId)}
      commands={commands}
      onDocument={(id) => navigate(to.document(id))}
      onMatch={(id, start, end) => navigate(to.match(id, start, end))}
      onClose={onClose}
    />
  )
}
