import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { assembleContextMutation, retrievePassagesMutation } from '../../api'
import { Button } from '../../components/Button'
import { AreaField, Field, Form, Segments } from '../../components/Field'
import { Failed, Page, Screen } from '../../components/Screen'
import { useText } from '../../i18n/language'
import { ContextView } from './ContextView'
import { Passages } from './Passages'
import styles from './retrieval.module.css'

type View = 'passages' | 'context'

/** Shows what a language model would be given for a text: passages, or a whole context in layers. */
export function Retrieval({
  projectId,
  addressOf,
}: {
  projectId: number
  addressOf: (documentId: number, start: number, end: number) => string
}) {
  const { t } = useText()
  const [view, setView] = useState<View>('passages')
  const [query, setQuery] = useState('')
  const [topK, setTopK] = useState('')
  const [maxTokens, setMaxTokens] = useState('')
  const [rules, setRules] = useState('')
  const [settings, setSettings] = useState('')
  const [immediate, setImmediate] = useState('')
  const path = { project_id: projectId }
  const passages = useMutation({ ...retrievePassagesMutation() })
  const context = useMutation({ ...assembleContextMutation() })
  const asked = {
    query: query.trim(),
    ...(Number(topK) > 0 ? { topK: Number(topK) } : {}),
  }
  const run = () => {
    if (view === 'passages') {
      passages.mutate({ path, body: { ...asked, ...(Number(maxTokens) > 0 ? { maxTokens: Number(maxTokens) } : {}) } })
    } else {
      const layers = { rules, settings, immediate }
      context.mutate({ path, body: { ...asked, layers, maxTokens: Number(maxTokens) || 2000 } })
    }
  }
  const shown = view === 'passages' ? passages : context
  return (
    <Page wide title={t('nav.retrieval')} text={t('retrieval.text')}>
      <div className={styles.split}>
        <Form onSubmit={run}>
          <Segments
            label={t('retrieval.view')}
            value={view}
            onChange={setView}
            options={[
              ['passages', t('retrieval.passages')],
              ['context', t('retrieval.context')],
            ]}
          />
          <AreaField label={t('retrieval.query')} value={query} onChange={setQuery} rows={3} />
          {view === 'context' && (
            <>
              <AreaField label={t('layer.rules')} value={rules} onChange={setRules} rows={2} />
              <AreaField label={t('layer.settings')} value={settings} onChange={setSettings} rows={2} />
              <AreaField label={t('layer.immediate')} value={immediate} onChange={setImmediate} rows={3} />
            </>
          )}
          <div className={styles.numbers}>
            <Field
              label={t('retrieval.topK')}
              type="number"
              min={1}
              value={topK}
              placeholder={t('retrieval.default')}
              onChange={(event) => setTopK(event.target.value)}
            />
            <Field
              label={t('retrieval.maxTokens')}
              type="number"
              min={1}
              value={maxTokens}
              placeholder={view === 'context' ? '2000' : t('retrieval.default')}
              onChange={(event) => setMaxTokens(event.target.value)}
            />
          </div>
          <Button variant="primary" icon="play" type="submit" disabled={!query.trim() || shown.isPending}>
            {t('retrieval.run')}
          </Button>
        </Form>
        <div className={styles.answer}>
          {shown.isError && <Failed error={shown.error} onRetry={run} />}
          {!shown.data && !shown.isError && (
            <Screen icon="retrieval" title={t('retrieval.start')}>
              {t('retrieval.startText')}
            </Screen>
          )}
          {view === 'passages' && passages.data && <Passages answer={passages.data} addressOf={addressOf} />}
          {view === 'context' && context.data && <ContextView answer={context.data} />}
        </div>
      </div>
    </Page>
  )
}
