import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { ToastProvider } from '../components/Toast'
import { type Language, LanguageProvider } from '../i18n/language'

/** Everything that a component may rely on, for stories and tests. */
export function Frame({
  children,
  language = 'en',
  theme = 'light',
}: {
  children: ReactNode
  language?: Language
  theme?: 'light' | 'dark'
}) {
  const [queries] = useState(() => new QueryClient({ defaultOptions: { queries: { retry: false } } }))
  useEffect(() => {
    document.documentElement.dataset.theme = theme
  }, [theme])
  return (
    <QueryClientProvider client={queries}>
      <LanguageProvider key={language} initial={language}>
        <ToastProvider>{children}</ToastProvider>
      </LanguageProvider>
    </QueryClientProvider>
  )
}
