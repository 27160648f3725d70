import { Icon } from '../../components/Icon'
import { useText } from '../../i18n/language'
import styles from './editor.module.css'
import type { SaveState } from './saving'

const ICONS = {
  saved: 'check',
  waiting: 'clock',
  saving: 'spinner',
  conflict: 'warning',
  failed: 'offline',
  refused: 'warning',
} as const

/** Whether everything that was typed is saved. */
export function SaveMark({ state }: { state: SaveState }) {
  const { t } = useText()
  return (
    <span className={styles.state} data-state={state} role="status">
      <Icon name={ICONS[state]} spin={state === 'saving'} />
      {t(`save.${state}`)}
    </span>
  )
}
