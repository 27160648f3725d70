import { useState } from 'react'
import { Segments } from '../../components/Field'
import { CodeBox, CopyButton } from '../../components/Text'
import { useText } from '../../i18n/language'
import { CLIENTS, configurationOf, FILES, type McpClient } from './clients'
import styles from './tools.module.css'

/** What to add to the configuration of an MCP client. Without a key, a placeholder stands in its place. */
export function Configuration({ url, apiKey }: { url: string; apiKey: string | null }) {
  const { t } = useText()
  const [client, setClient] = useState<McpClient>('Claude Code')
  const text = configurationOf(client, url, apiKey ?? t('endpoints.yourKey'))
  return (
    <details className={styles.configuration} open={apiKey !== null}>
      <summary>{t('endpoints.configure')}</summary>
      <div className={styles.answerHead}>
        <Segments
          label={t('endpoints.client')}
          value={client}
          onChange={setClient}
          options={CLIENTS.map((each) => [each, each] as const)}
        />
        <CopyButton text={text} />
      </div>
      <p className={styles.facts}>{t('endpoints.file', { file: FILES[client] })}</p>
      <CodeBox label={t('endpoints.configure')}>{text}</CodeBox>
    </details>
  )
}
