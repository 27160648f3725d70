import { useBlocker } from '@tanstack/react-router'
import { type RefObject, useEffect } from 'react'
import { ConfirmDialog } from '../components/Dialog'
import { useText } from '../i18n/language'

const PATIENCE_MS = 3000

/** What is edited on a page. */
export interface Edited {
  readonly isSaved: () => boolean
  readonly isInConflict: () => boolean
  readonly flush: () => Promise<void>
  readonly discard: () => void
}

/** Saves before another page of the client is opened, and asks if that fails. */
export function LeaveGuard({ editor }: { editor: RefObject<Edited | null> }) {
  const { t } = useText()
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: async ({ current, next }) => {
      const edited = editor.current
      if (!edited || edited.isSaved() || current.pathname === next.pathname) return false
      await Promise.race([edited.flush(), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))])
      return !edited.isSaved()
    },
    enableBeforeUnload: false, // the editor warns by itself
    withResolver: true,
  })
  const decided = status === 'blocked' && editor.current?.isInConflict() === true // its dialog asks already
  useEffect(() => {
    if (decided) reset?.()
  }, [decided, reset])
  if (status !== 'blocked' || decided) return null
  const leave = () => {
    editor.current?.discard()
    proceed()
  }
  return (
    <ConfirmDialog
      title={t('leave.title')}
      text={t('leave.text')}
      button={t('leave.button')}
      onConfirm={leave}
      onClose={reset}
    />
  )
}
