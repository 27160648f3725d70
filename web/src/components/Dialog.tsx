import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useText } from '../i18n/language'
import { IconButton } from './Button'
import styles from './ui.module.css'

/** A modal dialog. Escape closes it, and the focus returns to where it was. */
export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  title: string
  onClose: () => void
  children: ReactNode
  wide?: boolean
}) {
  const { t } = useText()
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    const shown = dialog.current
    shown?.showModal()
    shown?.querySelector<HTMLElement>('input, textarea, select')?.focus()
    return () => {
      shown?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      className={wide ? `${styles.dialog} ${styles.wide}` : styles.dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <div className={styles.dialogHead}>
        <h2 id={id}>{title}</h2>
        <IconButton icon="close" label={t('close')} onClick={onClose} />
      </div>
      <div className={styles.dialogBody}>{children}</div>
    </dialog>
  )
}

/** Buttons at the end of a dialog or form. */
export function Actions({ children }: { children: ReactNode }) {
  return <div className={`${styles.row} ${styles.end}`}>{children}</div>
}
