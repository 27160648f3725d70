import type { ChangeEvent, CompositionEvent } from 'react'
import { useEffect, useRef } from 'react'
import { Button, Sign } from '../../components/Button'
import { BareField } from '../../components/Field'
import { useText } from '../../i18n/language'
import styles from './replace.module.css'
import type { Rule } from './rule'

interface Typed {
  readonly value: string
  readonly onChange: (event: ChangeEvent<HTMLInputElement>) => void
  readonly onCompositionStart: () => void
  readonly onCompositionEnd: (event: CompositionEvent<HTMLInputElement>) => void
}

const FLAGS = [
  ['caseSensitive', 'Aa'],
  ['wholeWord', '|ab|'],
  ['regex', '.*'],
  ['preserveCase', 'AB'],
] as const

export function ReplaceFields({
  search,
  replace,
  rule,
  error,
  onFlags,
}: {
  search: Typed
  replace: Typed
  rule: Rule
  error?: string
  onFlags: (rule: Rule) => void
}) {
  const { t } = useText()
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const before = document.activeElement
    const focus = () => first.current?.select()
    focus()
    window.addEventListener('findspot:focus-panel', focus)
    return () => {
      window.removeEventListener('findspot:focus-panel', focus)
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <div className={styles.fields}>
      <BareField ref={first} label={t('replace.search')} aria-invalid={error ? true : undefined} {...search} />
      {error && (
        <p className={styles.error} role="alert">
          {error}
        </p>
      )}
      <BareField label={t('replace.with')} {...replace} />
      <div className={styles.flags}>
        {FLAGS.map(([flag, sign]) => (
          <Button
            key={flag}
            size="small"
            aria-pressed={rule[flag]}
            aria-label={t(`replace.${flag}`)}
            title={t(`replace.${flag}`)}
            onClick={() => onFlags({ ...rule, [flag]: !rule[flag] })}
          >
            <Sign text={sign} />
          </Button>
        ))}
      </div>
    </div>
  )
}
