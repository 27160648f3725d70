import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { setApiLanguage } from '../api/client'
import { en, type TextKey } from './en'
import { zh } from './zh'

export type Language = 'en' | 'zh'
export const LANGUAGES: readonly Language[] = ['en', 'zh']

type Values = Readonly<Record<string, string | number>>
export type Translate = (key: TextKey, values?: Values) => string

interface Chosen {
  readonly language: Language
  readonly t: Translate
  readonly choose: (language: Language) => void
}

const TEXTS: Record<Language, Record<TextKey, string>> = { en, zh }
const STORED = 'findspot.language'
const Context = createContext<Chosen | null>(null)

/** Returns a text with `{name}` filled in. `{count|one|many}` chooses by number. */
export function translate(language: Language, key: TextKey, values: Values = {}): string {
  return TEXTS[language][key].replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name: string, one, many) => {
    const value = values[name] ?? ''
    if (one === undefined) return typeof value === 'number' ? value.toLocaleString(language) : value
    return value === 1 ? one : many
  })
}

/** Returns the language that was chosen here before, or the browser's. */
export function firstLanguage(
  stored: string | null = localStorage.getItem(STORED),
  wanted: readonly string[] = navigator.languages,
): Language {
  if (stored === 'en' || stored === 'zh') return stored
  const known = wanted.map((each) => each.slice(0, 2).toLowerCase()).find((each) => each === 'en' || each === 'zh')
  return known === 'zh' ? 'zh' : 'en'
}

export function LanguageProvider({ children, initial }: { children: ReactNode; initial?: Language }) {
  const [language, setLanguage] = useState<Language>(() => initial ?? firstLanguage())
  useEffect(() => {
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en'
    setApiLanguage(language)
  }, [language])
  const value = useMemo<Chosen>(
    () => ({
      language,
      t: (key, values) => translate(language, key, values),
      choose: (chosen) => {
        localStorage.setItem(STORED, chosen)
        setApiLanguage(chosen)
        setLanguage(chosen)
      },
    }),
    [language],
  )
  return <Context value={value}>{children}</Context>
}

/** Returns the reader's language and the texts in it. */
export function useText(): Chosen {
  const chosen = useContext(Context)
  if (!chosen) throw new Error('LanguageProvider is missing')
  return chosen
}
