import type { ReactNode } from 'react'
import styles from './panel.module.css'
import { isComposing } from './useTyped'

/** A panel beside the page: controls that stay at the top, and a part that scrolls. Escape closes it. */
export function Panel({
  controls,
  onClose,
  children,
}: {
  controls: ReactNode
  onClose: () => void
  children: ReactNode
}) {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the panel from any control in it
    <div
      className={styles.panel}
      onKeyDown={(event) => {
        const inDialog = event.target instanceof Element && event.target.closest('dialog') !== null
        if (event.key === 'Escape' && !isComposing(event) && !inDialog) onClose()
      }}
    >
      <search className={styles.controls}>{controls}</search>
      <div className={styles.scroll}>{children}</div>
    </div>
  )
}
