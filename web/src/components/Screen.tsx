import type { ReactNode } from 'react'
import { ApiFailure, failureOf } from '../api/failure'
import { useText } from '../i18n/language'
import { Button } from './Button'
import { Icon, type IconName } from './Icon'
import styles from './ui.module.css'

/** What a place shows while it has nothing else to show: why, and what to do. */
export function Screen({
  icon,
  title,
  children,
  action,
  spin = false,
}: {
  icon: IconName
  title: string
  children?: ReactNode
  action?: ReactNode
  spin?: boolean
}) {
  return (
    <div className={styles.empty}>
      <Icon name={icon} spin={spin} />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  )
}

export function Loading() {
  const { t } = useText()
  return <Screen icon="spinner" spin title={t('loading')} />
}

/** Says why something could not be loaded, and offers another attempt. */
export function Failed({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t } = useText()
  const failure = error instanceof ApiFailure ? error : failureOf(error)
  const retry = onRetry && (
    <Button variant="primary" onClick={onRetry}>
      {t('retry')}
    </Button>
  )
  if (failure.code === 'OFFLINE') {
    return (
      <Screen icon="offline" title={t('offline.title')} action={retry}>
        {t('offline.text')}
      </Screen>
    )
  }
  if (failure.status === 404) {
    return (
      <Screen icon="warning" title={t('missing.title')}>
        {t('missing.text')}
      </Screen>
    )
  }
  return (
    <Screen icon="warning" title={t('error.title')} action={retry}>
      {failure.notice}
    </Screen>
  )
}

export function Notice({ children, tone = 'warn' }: { children: ReactNode; tone?: 'warn' | 'info' | 'bad' }) {
  const extra = tone === 'info' ? styles.info : tone === 'bad' ? styles.bad : ''
  return (
    <div className={`${styles.notice} ${extra}`} role="status">
      <Icon name={tone === 'info' ? 'clock' : 'warning'} />
      <div>{children}</div>
    </div>
  )
}

export function Badge({ children, tone }: { children: ReactNode; tone?: 'good' | 'warn' | 'bad' | 'accent' }) {
  return (
    <span className={styles.badge} data-tone={tone}>
      {children}
    </span>
  )
}

export function Page({
  title,
  text,
  actions,
  children,
  wide = false,
}: {
  title: string
  text?: ReactNode
  actions?: ReactNode
  children: ReactNode
  wide?: boolean
}) {
  return (
    <div className={wide ? `${styles.page} ${styles.pageWide}` : styles.page}>
      <header className={styles.pageHead}>
        <div>
          <h1>{title}</h1>
          {text && <p>{text}</p>}
        </div>
        {actions && <div className={styles.row}>{actions}</div>}
      </header>
      {children}
    </div>
  )
}
