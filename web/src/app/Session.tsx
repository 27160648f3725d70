import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { ApiFailure, getCallerOptions, signInMutation } from '../api'
import { Button } from '../components/Button'
import { Field } from '../components/Field'
import { Failed, Loading } from '../components/Screen'
import { CallerContext } from '../components/session'
import { useText } from '../i18n/language'
import styles from './app.module.css'
import { Brand, Preferences } from './Preferences'

/** Shows the client to whoever is signed in, and otherwise the way in. */
export function Session({ children }: { children: ReactNode }) {
  const caller = useQuery({ ...getCallerOptions(), staleTime: 60_000 })
  if (caller.data) return <CallerContext value={caller.data}>{children}</CallerContext>
  if (caller.isPending) return <Loading />
  if (caller.error instanceof ApiFailure && caller.error.status === 401) return <SignIn />
  return (
    <main>
      <Failed error={caller.error} onRetry={() => void caller.refetch()} />
    </main>
  )
}

export function SignIn() {
  const { t } = useText()
  const queries = useQueryClient()
  const [key, setKey] = useState('')
  const signIn = useMutation({ ...signInMutation(), onSuccess: () => queries.resetQueries() })
  const wrong = (error: unknown) => {
    if (!(error instanceof ApiFailure)) return t('error.title')
    if (error.code === 'OFFLINE') return t('offline.title')
    return error.status === 401 ? t('signin.wrong') : error.notice
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (key.trim()) signIn.mutate({ body: { key: key.trim() } })
  }
  return (
    <main className={styles.signIn}>
      <Brand />
      <h1>{t('signin.title')}</h1>
      <p>{t('signin.text')}</p>
      <form onSubmit={submit} className={styles.signInForm}>
        <Field
          label={t('signin.key')}
          type="password"
          value={key}
          onChange={(event) => setKey(event.target.value)}
          error={signIn.error ? wrong(signIn.error) : undefined}
          hint={t('signin.hint')}
        />
        <Button variant="primary" type="submit" disabled={!key.trim() || signIn.isPending}>
          {t('signin.button')}
        </Button>
      </form>
      <Preferences />
    </main>
  )
}
