import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { useText } from '../i18n/language'
import { Button, IconButton } from './Button'
import { Field } from './Field'
import { Notice } from './Screen'
import styles from './ui.module.css'

/** A modal dialog. Escape closes it, if it may be closed, and the focus returns to where it was. */
export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  title: string
  onClose?: () => void
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
        onClose?.()
      }}
    >
      <div className={styles.dialogHead}>
        <h2 id={id}>{title}</h2>
        {onClose && <IconButton icon="close" label={t('close')} onClick={onClose} />}
      </div>
      <div className={styles.dialogBody}>{children}</div>
    </dialog>
  )
}

/** Buttons at the end of a dialog or form. */
export function Actions({ children }: { children: ReactNode }) {
  return <div className={`${styles.row} ${styles.end}`}>{children}</div>
}

/** Asks before something is deleted for good. `text` says what goes with it; until it is known, nothing can be deleted. */
export function ConfirmDialog({
  title,
  text,
  button,
  typedName,
  error,
  pending = false,
  onConfirm,
  onClose,
}: {
  title: string
  text: string | undefined
  button?: string
  /** A name that has to be typed first. */
  typedName?: string
  error?: string
  pending?: boolean
  onConfirm: () => void
  onClose: () => void
}) {
  const { t } = useText()
  const [typed, setTyped] = useState('')
  const sure = typedName === undefined || typed.trim() === typedName.trim()
  return (
    <Dialog title={title} onClose={onClose}>
      <Notice tone="bad">{text ?? t('loading')}</Notice>
      {typedName !== undefined && (
        <Field
          label={t('projects.typeName', { name: typedName })}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      )}
      {error && <p role="alert">{error}</p>}
      <Actions>
        <Button onClick={onClose}>{t('cancel')}</Button>
        <Button danger disabled={text === undefined || !sure || pending} onClick={onConfirm}>
          {button ?? t('delete')}
        </Button>
      </Actions>
    </Dialog>
  )
}
