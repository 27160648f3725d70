import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react'
import { hasWords } from '../text/titles'
import styles from './combo.module.css'
import ui from './ui.module.css'
import { isComposing } from './useTyped'

interface Option<Value = number> {
  readonly value: Value
  readonly label: string
}

const SUGGESTIONS = 20

/** A choice among very many: one types words of a label and chooses a suggestion. An empty field means `any`. */
export function ComboField({
  label,
  any,
  none,
  options,
  value,
  onChange,
}: {
  label: string
  /** What it says when nothing is chosen. */
  any: string
  /** What it says when no label has the words. */
  none: string
  options: readonly Option[]
  value: number | undefined
  onChange: (value: number | undefined) => void
}) {
  const id = useId()
  const [typed, setTyped] = useState<string>() // until something is chosen or the field is left
  const [active, setActive] = useState<number>() // a suggestion, while they are shown
  const open = active !== undefined
  const found = useMemo(() => (open ? suggestions(typed ?? '', any, options) : []), [open, typed, any, options])
  const close = () => {
    setTyped(undefined)
    setActive(undefined)
  }
  const choose = (chosen: number | undefined) => {
    close()
    onChange(chosen)
  }
  const type = (text: string) => {
    setTyped(text)
    setActive(0)
    if (text === '') onChange(undefined)
  }
  const press = (event: KeyboardEvent) => {
    if (isComposing(event)) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const suggestion = found[active ?? -1]
    if (step) setActive(active === undefined ? 0 : (active + step + found.length) % Math.max(1, found.length))
    else if (event.key === 'Enter' && suggestion) choose(suggestion.value)
    else if (event.key === 'Escape' && open) close()
    else return
    event.preventDefault()
    event.stopPropagation() // Escape closes the suggestions, not what is around the field
  }
  const chosen = options.find((each) => each.value === value)?.label ?? ''
  return (
    <div className={`${ui.field} ${styles.combo}`}>
      <label className={ui.label} htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        className={ui.input}
        role="combobox"
        aria-expanded={found.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={found.length > 0 ? `${id}-list-${active}` : undefined}
        autoComplete="off"
        placeholder={any}
        value={typed ?? chosen}
        onChange={(event) => type(event.target.value)}
        onFocus={(event) => event.target.select()}
        onClick={() => setActive((now) => now ?? 0)}
        onBlur={close}
        onKeyDown={press}
      />
      {found.length > 0 && (
        <Suggestions id={`${id}-list`} label={label} found={found} active={active} onChoose={choose} />
      )}
      <span role="status">{open && found.length === 0 && none}</span>
    </div>
  )
}

function Suggestions({
  id,
  label,
  found,
  active = 0,
  onChoose,
}: {
  id: string
  label: string
  found: readonly Option<number | undefined>[]
  active: number | undefined
  onChoose: (value: number | undefined) => void
}) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' })
  }, [active])
  return (
    <div ref={list} id={id} className={styles.list} role="listbox" aria-label={label}>
      {found.map((each, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
        <div
          key={each.value ?? 'any'}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          title={each.label}
          onMouseDown={(event) => event.preventDefault()} // the field keeps the focus
          onClick={() => onChoose(each.value)}
        >
          {each.label}
        </div>
      ))}
    </div>
  )
}

/** Returns the first options that have the words; without words `any` comes first. */
function suggestions(text: string, any: string, options: readonly Option[]): Option<number | undefined>[] {
  const fits = hasWords(text)
  const fitting = options.filter((each) => fits(each.label))
  return (text.trim() ? fitting : [{ value: undefined, label: any }, ...fitting]).slice(0, SUGGESTIONS)
}
