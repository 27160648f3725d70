import { type ReactNode, useState } from 'react'
import { useText } from '../i18n/language'
import { languageOf, relativeTime } from '../text/format'
import { pieces } from '../text/offsets'
import { Button } from './Button'
import styles from './text.module.css'
import ui from './ui.module.css'

/** A text with ranges (in code points) marked. */
export function Marked({ text, ranges }: { text: string; ranges: readonly (readonly number[])[] }) {
  return pieces(text, ranges).map((piece) =>
    piece.marked ? <mark key={piece.start}>{piece.text}</mark> : <span key={piece.start}>{piece.text}</span>,
  )
}

export function Ago({ time }: { time: string }) {
  const { language } = useText()
  return (
    <time dateTime={time} title={new Date(time).toLocaleString(language)}>
      {relativeTime(time, language)}
    </time>
  )
}

export interface Change {
  readonly op: 'equal' | 'insert' | 'delete'
  readonly text: string
}

const CONTEXT = 160 // characters of unchanged text around a change

/** A diff by word. Long unchanged stretches are cut. */
export function Diff({ changes }: { changes: readonly Change[] }) {
  const { t } = useText()
  if (changes.every((change) => change.op === 'equal')) return <p>{t('diff.same')}</p>
  let at = 0
  return (
    <div className={styles.diff} lang={languageOf(changes.map((change) => change.text).join(''))}>
      {changes.map((change, index) => {
        const key = at
        at += change.text.length + 1
        if (change.op === 'insert') return <ins key={key}>{change.text}</ins>
        if (change.op === 'delete') return <del key={key}>{change.text}</del>
        return <Unchanged key={key} text={change.text} first={index === 0} last={index === changes.length - 1} />
      })}
    </div>
  )
}

function Unchanged({ text, first, last }: { text: string; first: boolean; last: boolean }) {
  const { t } = useText()
  if (text.length <= 2.5 * CONTEXT) return <span>{text}</span>
  const head = first ? '' : text.slice(0, CONTEXT)
  const tail = last ? '' : text.slice(-CONTEXT)
  return (
    <>
      <span>{head}</span>
      <span className={styles.gap}>{t('diff.unchanged', { count: text.length - head.length - tail.length })}</span>
      <span>{tail}</span>
    </>
  )
}

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { t } = useText()
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <Button size="small" icon={copied ? 'check' : 'copy'} onClick={() => void copy()}>
      {copied ? t('copied') : (label ?? t('copy'))}
    </Button>
  )
}

/** A text that scrolls in a frame of its own, by keyboard too. */
export function ScrollBox({
  label,
  className,
  lang,
  children,
}: {
  label: string
  className?: string
  lang?: string
  children: ReactNode
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section aria-label={label} tabIndex={0} className={className} lang={lang}>
      {children}
    </section>
  )
}

/** Source code or JSON in a frame of its own. */
export function CodeBox({ label, children }: { label: string; children: string }) {
  return (
    <ScrollBox label={label} className={styles.code}>
      {children}
    </ScrollBox>
  )
}

/** A passage of somebody's text. `children` show it otherwise than as it is. */
export function Prose({ text, children = text }: { text: string; children?: ReactNode }) {
  return (
    <p className={styles.prose} lang={languageOf(text)}>
      {children}
    </p>
  )
}

/** A remark that stands back. */
export function Soft({ children }: { children: ReactNode }) {
  return <p className={styles.soft}>{children}</p>
}

export function Kbd({ children }: { children: string }) {
  return <kbd className={ui.kbd}>{children}</kbd>
}

/** Text for screen readers only. */
export function Hidden({ children }: { children: string }) {
  return <span className={ui.visuallyHidden}>{children}</span>
}

export function Progress({ value, max, label }: { value: number; max: number; label: string }) {
  return <progress className={ui.meter} value={value} max={Math.max(max, 1)} aria-label={label} />
}
