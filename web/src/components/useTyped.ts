import { type ChangeEvent, type CompositionEvent, useCallback, useEffect, useRef, useState } from 'react'

/** Whether a key belongs to an input method. Safari tells only by the key code. */
export function isComposing(event: { nativeEvent: { isComposing?: boolean }; keyCode: number }): boolean {
  return event.nativeEvent.isComposing === true || event.keyCode === 229
}

/**
 * Keeps what is typed into a field, and settles it after a pause. While an input method composes, the field changes
 * but nothing settles.
 */
export function useTyped(initial = '', pauseMs = 160) {
  const [text, setText] = useState(initial)
  const [settled, setSettled] = useState(initial)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const composing = useRef(false)

  const settle = useCallback(
    (value: string, wait = pauseMs) => {
      clearTimeout(timer.current)
      if (wait === 0) setSettled(value)
      else timer.current = setTimeout(() => setSettled(value), wait)
    },
    [pauseMs],
  )
  useEffect(() => () => clearTimeout(timer.current), [])

  const set = useCallback(
    (value: string) => {
      setText(value)
      settle(value, 0)
    },
    [settle],
  )
  const change = (value: string) => {
    setText(value)
    if (!composing.current) settle(value)
  }
  const field = {
    value: text,
    onChange: (event: ChangeEvent<HTMLInputElement>) => change(event.target.value),
    onCompositionStart: () => {
      composing.current = true
      clearTimeout(timer.current)
    },
    onCompositionEnd: (event: CompositionEvent<HTMLInputElement>) => {
      composing.current = false
      settle(event.currentTarget.value)
    },
  }
  return { text, settled, set, change, field }
}
