import { useQuery } from '@tanstack/react-query'
import { api, type PastReplace } from '../../api'
import { Button } from '../../components/Button'
import { useMay } from '../../components/session'
import { Ago } from '../../components/Text'
import { useText } from '../../i18n/language'
import styles from './replace.module.css'

export function PastReplaces({
  projectId,
  undoing,
  onUndo,
}: {
  projectId: number
  undoing: boolean
  onUndo: (previewId: number) => void
}) {
  const past = useQuery({
    queryKey: ['replace', 'past', projectId],
    queryFn: async ({ signal }) => {
      const { data } = await api.listReplaces({ path: { project_id: projectId }, body: {}, signal, throwOnError: true })
      return data.replaces
    },
  })
  return past.data && past.data.length > 0 ? <PastList past={past.data} undoing={undoing} onUndo={onUndo} /> : null
}

export function PastList({
  past,
  undoing,
  onUndo,
}: {
  past: readonly PastReplace[]
  undoing: boolean
  onUndo: (previewId: number) => void
}) {
  const { t } = useText()
  const mayWrite = useMay('write')
  return (
    <section className={styles.past} aria-label={t('replace.past')}>
      <h3>{t('replace.past')}</h3>
      <ul>
        {past.map((each) => (
          <li key={each.previewId}>
            <p className={styles.sentence}>
              <del>{each.search}</del> → <ins>{each.replace || t('replace.nothing')}</ins>
            </p>
            <small>
              {t('replace.counts', { documents: each.affectedDocumentCount, matches: each.replacedCount })} ·{' '}
              <Ago time={each.executedAt} />
            </small>
            {each.undoneAt ? (
              <small>{t('replace.undone')}</small>
            ) : (
              mayWrite &&
              each.undoableDocumentCount > 0 && (
                <Button size="small" icon="undo" disabled={undoing} onClick={() => onUndo(each.previewId)}>
                  {t('undo')}
                </Button>
              )
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
