import {
  type FormEvent,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  useId,
} from 'react'
import styles from './ui.module.css'

interface Labelled {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string
}

export function Field({
  label,
  hint,
  error,
  ref,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & Labelled & { ref?: Ref<HTMLInputElement> }) {
  const id = useId()
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        ref={ref}
        className={styles.input}
        aria-invalid={error ? true : undefined}
        aria-describedby={error || hint ? `${id}-hint` : undefined}
        autoComplete="off"
        {...rest}
      />
      {(error || hint) && (
        <span id={`${id}-hint`} className={error ? styles.wrong : styles.hint}>
          {error || hint}
        </span>
      )}
    </div>
  )
}

/** A field whose label is its placeholder, for places where its purpose is plain to see. */
export function BareField({
  label,
  ref,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { label: string; ref?: Ref<HTMLInputElement> }) {
  return (
    <input ref={ref} className={styles.input} placeholder={label} aria-label={label} autoComplete="off" {...rest} />
  )
}

/** Fields below each other, which are sent without loading the page anew. */
export function Form({ onSubmit, children }: { onSubmit: () => void; children: ReactNode }) {
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSubmit()
  }
  return (
    <form className={styles.form} onSubmit={submit}>
      {children}
    </form>
  )
}

export function AreaField({
  label,
  hint,
  error,
  value,
  onChange,
  rows = 4,
  code = false,
}: Labelled & { value: string; onChange: (value: string) => void; rows?: number; code?: boolean }) {
  const id = useId()
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      <textarea
        id={id}
        className={code ? `${styles.input} ${styles.code}` : styles.input}
        rows={rows}
        value={value}
        spellCheck={!code}
        aria-invalid={error ? true : undefined}
        aria-describedby={error || hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.target.value)}
      />
      {(error || hint) && (
        <span id={`${id}-hint`} className={error ? styles.wrong : styles.hint}>
          {error || hint}
        </span>
      )}
    </div>
  )
}

export function SelectField({
  label,
  options,
  ...rest
}: SelectHTMLAttributes<HTMLSelectElement> & { label: string; options: readonly (readonly [string, string])[] }) {
  const id = useId()
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      <select id={id} className={styles.input} {...rest}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

/** A choice of one among a few, as adjacent segments. */
export function Segments<Value extends string>({
  label,
  options,
  value,
  onChange,
}: {
  label: string
  options: readonly (readonly [Value, string])[]
  value: Value
  onChange: (value: Value) => void
}) {
  const name = useId()
  return (
    <div role="radiogroup" aria-label={label} className={styles.segments}>
      {options.map(([each, text]) => (
        <label key={each} className={styles.segment}>
          <input type="radio" name={name} checked={each === value} onChange={() => onChange(each)} />
          <span>{text}</span>
        </label>
      ))}
    </div>
  )
}
