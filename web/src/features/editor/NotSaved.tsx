import { useMutation } from '@tanstack/react-query'
import type { ApiFailure } from '../../api'
import { Button } from '../../components/Button'
import { Notice } from '../../components/Screen'
import { useText } from '../../i18n/language'
import styles from './editor.module.css'

/** Says why a text cannot be saved, if waiting does not help, and offers to save it elsewhere. */
export function NotSaved({ failure, onSaveAs }: { failure: ApiFailure; onSaveAs: () => Promise<void> }) {
  const { t } = useText()
  const saveAs = useMutation({ mutationFn: onSaveAs })
  if (failure.status === 401) return <Notice tone="bad">{t('save.signedOut')}</Notice>
  if (failure.status < 400 || failure.status >= 500) return null
  if (failure.status !== 404) return <Notice tone="bad">{t('save.refusedText', { reason: failure.notice })}</Notice>
  return (
    <Notice tone="bad">
      <p>{t('save.gone')}</p>
      {saveAs.isError && <p>{saveAs.error.message}</p>}
      <p className={styles.saveAs}>
        <Button size="small" disabled={saveAs.isPending} onClick={() => saveAs.mutate()}>
          {t('save.asNew')}
        </Button>
      </p>
    </Notice>
  )
}
