import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react'
import styles from './ui.module.css'

export interface Toast {
  readonly text: string
  readonly action?: { readonly label: string; readonly run: () => void }
  /** Whether the action gets the focus, because its opener has gone and a keyboard could not reach it in time. */
  readonly focus?: boolean
  /** Runs when the toast goes without its action. */
  readonly onGone?: () => void
}

interface Shown extends Toast {
  readonly id: number
}

export const TOAST_MS = 7000
const Context = createContext<(toast: Toast) => void>(() => undefined)

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Shown[]>([])
  const last = useRef(0)
  const show = useCallback((toast: Toast) => {
    last.current += 1
    setToasts((now) => [...now.slice(-2), { ...toast, id: last.current }])
  }, [])
  const remove = useCallback((id: number) => setToasts((now) => now.filter((each) => each.id !== id)), [])
  const shown = useMemo(() => toasts, [toasts])
  return (
    <Context value={show}>
      {children}
      <div className={styles.toasts} role="status" aria-live="polite">
        {shown.map((toast) => (
          <OneToast key={toast.id} toast={toast} onEnd={() => remove(toast.id)} />
        ))}
      </div>
    </Context>
  )
}

function OneToast({ toast, onEnd }: { toast: Shown; onEnd: () => void }) {
  const done = useRef(false)
  const latest = useRef({ toast, onEnd })
  latest.current = { toast, onEnd }
  const button = useRef<HTMLButtonElement>(null)
  const [held, setHeld] = useState(false) // while somebody points at it or has the focus in it
  const hold = { onFocus: () => setHeld(true), onPointerEnter: () => setHeld(true) }
  const release = { onBlur: () => setHeld(false), onPointerLeave: () => setHeld(false) }
  useEffect(() => {
    const leave = () => {
      if (done.current) return
      done.current = true
      latest.current.toast.onGone?.()
    }
    if (latest.current.toast.focus) button.current?.focus()
    window.addEventListener('pagehide', leave)
    return () => {
      window.removeEventListener('pagehide', leave)
      leave()
    }
  }, [])
  useEffect(() => {
    if (held) return
    const timer = setTimeout(() => latest.current.onEnd(), TOAST_MS)
    return () => clearTimeout(timer)
  }, [held])
  const { action } = toast
  return (
    <div className={styles.toast} {...hold} {...release}>
      <span>{toast.text}</span>
      {action && (
        <button
          ref={button}
          type="button"
          onClick={() => {
            done.current = true
            action.run()
            onEnd()
          }}
        >
          {action.label}
        </button>
      )}
    </div>
  )
}

/** Returns a function that shows a short message, with an action if there is something to take back. */
export function useToast(): (toast: Toast) => void {
  return useContext(Context)
}
