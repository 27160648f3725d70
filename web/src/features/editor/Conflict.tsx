import { useQuery } from '@tanstack/react-query'
import { ApiFailure, api } from '../../api'
import { Button } from '../../components/Button'
import { Actions, Dialog } from '../../components/Dialog'
import { Failed } from '../../components/Screen'
import { Ago, CopyButton, ScrollBox } from '../../components/Text'
import { useText } from '../../i18n/language'
import { languageOf } from '../../text/format'
import styles from './editor.module.css'
import { NotSaved } from './NotSaved'

/** Shows both versions side by side when a document was changed elsewhere, and lets the writer decide. */
export function Conflict({
  documentId,
  mine,
  onKeepMine,
  onTakeTheirs,
  onSaveAs,
}: {
  documentId: number
  mine: string
  onKeepMine: (currentRevision: number) => void
  onTakeTheirs: () => void
  onSaveAs: () => Promise<void>
}) {
  const theirs = useQuery({
    queryKey: ['conflict', documentId],
    queryFn: async () => {
      const { data } = await api.getDocument({ path: { document_id: documentId }, throwOnError: true })
      return data
    },
    gcTime: 0,
  })
  const take = async () => {
    const { isSuccess } = await theirs.refetch() // it may have been deleted meanwhile
    if (isSuccess) onTakeTheirs()
  }
  return (
    <ConflictView
      mine={mine}
      theirs={theirs.data && { text: textOf(theirs.data.content, theirs.data.text), updatedAt: theirs.data.updatedAt }}
      error={theirs.error}
      onRetry={() => void theirs.refetch()}
      onKeepMine={() => theirs.data && onKeepMine(theirs.data.revision)}
      onTakeTheirs={() => void take()}
      onSaveAs={onSaveAs}
    />
  )
}

function textOf(content: unknown, text: string): string {
  return typeof content === 'string' ? content : text
}

export function ConflictView({
  mine,
  theirs,
  error = null,
  onRetry,
  onKeepMine,
  onTakeTheirs,
  onSaveAs,
}: {
  mine: string
  theirs: { text: string; updatedAt: string } | undefined
  error?: Error | null
  onRetry?: () => void
  onKeepMine: () => void
  onTakeTheirs: () => void
  onSaveAs: () => Promise<void>
}) {
  const { t } = useText()
  const gone = error instanceof ApiFailure && error.status === 404 && error
  return (
    <Dialog title={t('conflict.title')} wide>
      {gone ? <NotSaved failure={gone} onSaveAs={onSaveAs} /> : <p>{t('conflict.text')}</p>}
      <div className={styles.sides}>
        <div className={styles.side}>
          <h3>{t('conflict.mine')}</h3>
          <ScrollBox label={t('conflict.mine')} className={styles.version} lang={languageOf(mine)}>
            {mine}
          </ScrollBox>
          <Actions>
            <CopyButton text={mine} />
            {!gone && (
              <Button disabled={!theirs} onClick={onKeepMine}>
                {t('conflict.keepMine')}
              </Button>
            )}
          </Actions>
        </div>
        {!gone && (
          <div className={styles.side}>
            <h3>
              {t('conflict.theirs')} {theirs && <Ago time={theirs.updatedAt} />}
            </h3>
            {error ? (
              <Failed error={error} onRetry={onRetry} />
            ) : (
              <ScrollBox label={t('conflict.theirs')} className={styles.version} lang={languageOf(theirs?.text ?? '')}>
                {theirs?.text}
              </ScrollBox>
            )}
            <Actions>
              <Button disabled={!theirs} onClick={onTakeTheirs}>
                {t('conflict.takeTheirs')}
              </Button>
            </Actions>
          </div>
        )}
      </div>
      {!gone && <p className={styles.state}>{t('conflict.safe')}</p>}
    </Dialog>
  )
}
