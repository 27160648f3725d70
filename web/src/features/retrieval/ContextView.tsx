import type { AssembledContext } from '../../api'
import { Badge, Notice } from '../../components/Screen'
import { CopyButton, Progress, Prose, Soft } from '../../components/Text'
import { useText } from '../../i18n/language'
import styles from './retrieval.module.css'

/** An assembled context by layers, with a bar for the share of the budget that each one takes. */
export function ContextView({ answer }: { answer: AssembledContext }) {
  const { t } = useText()
  const text = answer.layers
    .map((layer) => layer.text)
    .filter(Boolean)
    .join('\n\n')
  return (
    <div className={styles.stack}>
      {answer.warnings.map((warning) => (
        <Notice key={`${warning.code}:${warning.layer ?? ''}`}>{warning.message}</Notice>
      ))}
      <div className={styles.budget}>
        <span>{t('retrieval.used', { used: answer.totalTokens, max: answer.maxTokens })}</span>
        <Progress value={answer.totalTokens} max={answer.maxTokens} label={t('retrieval.budget')} />
      </div>
      {answer.layers.map((layer) => (
        <section key={layer.name} className={styles.layer} aria-label={t(`layer.${layer.name}`)}>
          <header>
            <h2>{t(`layer.${layer.name}`)}</h2>
            <Badge>{t('retrieval.tokens', { count: layer.tokens })}</Badge>
          </header>
          <Progress value={layer.tokens} max={answer.maxTokens} label={t(`layer.${layer.name}`)} />
          {layer.text ? <Prose text={layer.text} /> : <Soft>{t('retrieval.empty')}</Soft>}
        </section>
      ))}
      <p className={styles.badges}>
        <CopyButton text={text} label={t('retrieval.copyContext')} />
        <small>
          {t('retrieval.prefix')} <code>{answer.stablePrefixHash.slice(0, 12)}</code>
        </small>
      </p>
    </div>
  )
}
