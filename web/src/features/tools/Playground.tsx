import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, callToolMutation, type FoundInTable, getToolOptions, type JsonValue, type Tool } from '../../api'
import { Button } from '../../components/Button'
import { AreaField, Field, Form, SelectField } from '../../components/Field'
import { Badge, Failed, Loading, Notice, Page, Screen } from '../../components/Screen'
import { CodeBox, CopyButton, Marked, Prose } from '../../components/Text'
import { useText } from '../../i18n/language'
import { type ArgumentField, argumentsOf, fieldsOf } from './fields'
import { IndexProgress } from './IndexProgress'
import styles from './tools.module.css'

/** Runs a tool and shows its answer beside the text that it comes from. */
export function Playground({ toolId }: { toolId: number }) {
  const tool = useQuery(getToolOptions({ path: { tool_id: toolId } }))
  if (tool.isPending) return <Loading />
  if (tool.isError) return <Failed error={tool.error} onRetry={() => void tool.refetch()} />
  return <ToolRunner tool={tool.data} />
}

function ToolRunner({ tool }: { tool: Tool }) {
  const { t } = useText()
  const call = useMutation({ ...callToolMutation() })
  return (
    <Page wide title={tool.name} text={tool.description}>
      {tool.type === 'search' && <IndexProgress projectId={tool.project_id} toolId={tool.id} />}
      <div className={styles.split}>
        <section className={styles.card} aria-label={t('tools.arguments')}>
          <ArgumentForm
            schema={tool.input_schema}
            running={call.isPending}
            onRun={(values) =>
              call.mutate({ path: { tool_id: tool.id }, body: { arguments: values as Record<string, JsonValue> } })
            }
          />
          {call.isError && <Notice tone="bad">{call.error.message}</Notice>}
          {call.data && (
            <>
              <div className={styles.answerHead}>
                <h2>{t('tools.answer')}</h2>
                <CopyButton text={JSON.stringify(call.data, null, 2)} />
              </div>
              <CodeBox label={t('tools.answer')}>{JSON.stringify(call.data, null, 2)}</CodeBox>
            </>
          )}
        </section>
        <section className={styles.card} aria-label={t('tools.inText')}>
          {call.data && 'results' in call.data && tool.type === 'search' && tool.table_id !== null ? (
            <Hits tableId={tool.table_id} answer={call.data as FoundInTable} />
          ) : (
            <Screen icon="play" title={t('tools.run')}>
              {t('tools.runText')}
            </Screen>
          )}
        </section>
      </div>
    </Page>
  )
}

export function ArgumentForm({
  schema,
  running,
  onRun,
}: {
  schema: Readonly<Record<string, unknown>>
  running: boolean
  onRun: (values: Record<string, unknown>) => void
}) {
  const { t } = useText()
  const fields = fieldsOf(schema)
  const [typed, setTyped] = useState<Record<string, string>>({})
  const [wrong, setWrong] = useState('')
  const submit = () => {
    const read = argumentsOf(fields, typed)
    setWrong('wrong' in read ? read.wrong : '')
    if ('values' in read) onRun(read.values)
  }
  return (
    <Form onSubmit={submit}>
      {fields.map((field) => (
        <Argument
          key={field.name}
          field={field}
          value={typed[field.name] ?? ''}
          error={wrong === field.name ? t('tools.wrongJson') : undefined}
          onChange={(value) => setTyped((now) => ({ ...now, [field.name]: value }))}
        />
      ))}
      <Button variant="primary" icon="play" type="submit" disabled={running}>
        {t('tools.runButton')}
      </Button>
    </Form>
  )
}

function Argument({
  field,
  value,
  error,
  onChange,
}: {
  field: ArgumentField
  value: string
  error?: string
  onChange: (value: string) => void
}) {
  const { t } = useText()
  const label = field.required ? field.name : `${field.name} (${t('optional')})`
  if (field.kind === 'boolean') {
    return (
      <SelectField
        label={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        options={[
          ['', '–'],
          ['true', 'true'],
          ['false', 'false'],
        ]}
      />
    )
  }
  if (field.kind === 'json') {
    return (
      <AreaField label={label} value={value} onChange={onChange} rows={3} code hint={field.description} error={error} />
    )
  }
  return (
    <Field
      label={label}
      type={field.kind === 'number' ? 'number' : 'text'}
      value={value}
      hint={field.description}
      error={error}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

const WINDOW = 400 // characters before and after a hit

function Hits({ tableId, answer }: { tableId: number; answer: FoundInTable }) {
  const { t } = useText()
  if (answer.results.length === 0) return <Screen icon="search" title={t('tools.noHits')} />
  return (
    <ol className={styles.hits}>
      {answer.results.map((hit) => (
        <li key={`${hit.chunk.json_pointer}:${hit.chunk.char_start}`}>
          <header>
            <code>{hit.chunk.json_pointer}</code>
            <Badge tone="accent">{hit.score.toFixed(4)}</Badge>
          </header>
          <InNode tableId={tableId} hit={hit} />
        </li>
      ))}
    </ol>
  )
}

/** A hit inside the text of its node, with the characters around it. */
function InNode({ tableId, hit }: { tableId: number; hit: FoundInTable['results'][number] }) {
  const { t } = useText()
  const { json_pointer: pointer, char_start: from, char_end: to } = hit.chunk
  const node = useQuery({
    queryKey: ['node', tableId, pointer],
    queryFn: async ({ signal }) => {
      const { data } = await api.getTable({
        path: { table_id: tableId },
        query: { json_pointer: pointer },
        signal,
        throwOnError: true,
      })
      return typeof data.data === 'string' ? data.data : ''
    },
    staleTime: 10_000,
  })
  if (!node.data) return <Prose text={hit.chunk.chunk_text} />
  const points = [...node.data]
  const start = Math.max(0, from - WINDOW)
  const end = Math.min(points.length, to + WINDOW)
  return (
    <>
      <Prose text={hit.chunk.chunk_text}>
        {start > 0 && '… '}
        <Marked text={points.slice(start, end).join('')} ranges={[[from - start, to - start]]} />
        {end < points.length && ' …'}
      </Prose>
      <small>{t('tools.place', { from, to, length: points.length })}</small>
    </>
  )
}
