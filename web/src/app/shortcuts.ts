const MAC = /mac|iphone|ipad/i.test(navigator.userAgent)

export type Shortcut = 'search' | 'palette' | 'replace-document' | 'replace-project'

/** Returns the shortcut that a key press stands for. Keys of an input method are never shortcuts. */
export function shortcutOf(event: KeyboardEvent): Shortcut | null {
  if (event.isComposing || event.keyCode === 229) return null
  const modified = MAC ? event.metaKey : event.ctrlKey
  if (!modified || event.altKey) return null
  const key = event.key.toLowerCase()
  if (key === 'h') return event.shiftKey ? 'replace-project' : 'replace-document'
  if (event.shiftKey) return key === 'f' ? 'search' : null
  return key === 'p' || key === 'k' ? 'palette' : null
}

/** Returns a shortcut as this system writes it. */
export function withModifier(key: string): string {
  return MAC ? `⌘${key}` : `Ctrl ${key.replace('⇧', 'Shift ')}`
}
