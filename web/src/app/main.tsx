import './tokens.css'
import './base.css'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiFailure } from '../api'
import { Navigate } from '../components/PageLink'
import { ToastProvider } from '../components/Toast'
import { LanguageProvider } from '../i18n/language'
import { Crash } from './Crash'
import { router } from './router'
import { Session } from './Session'
import { applyTheme } from './theme'

applyTheme()

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      networkMode: 'always',
      retry: (count, error) => count < 2 && error instanceof ApiFailure && error.status >= 500,
    },
    mutations: { networkMode: 'always' },
  },
})

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <LanguageProvider>
        <Crash>
          <QueryClientProvider client={queries}>
            <ToastProvider>
              <Navigate value={(address) => router.history.push(address)}>
                <Session>
                  <RouterProvider router={router} />
                </Session>
              </Navigate>
            </ToastProvider>
          </QueryClientProvider>
        </Crash>
      </LanguageProvider>
    </StrictMode>,
  )
}
