import { useSyncExternalStore } from 'react'

export type Theme = 'auto' | 'light' | 'dark'
const STORED = 'findspot.theme'
const listeners = new Set<() => void>()

export function currentTheme(): Theme {
  const stored = localStorage.getItem(STORED)
  return stored === 'light' || stored === 'dark' ? stored : 'auto'
}

/** Applies a theme and keeps it for the next visit. `auto` follows the system. */
export function chooseTheme(theme: Theme): void {
  localStorage.setItem(STORED, theme)
  applyTheme()
  for (const listener of listeners) listener()
}

export function applyTheme(): void {
  const theme = currentTheme()
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, currentTheme)
}
