import { Component, type ReactNode } from 'react'
import { Button } from '../components/Button'
import { Screen } from '../components/Screen'
import { useText } from '../i18n/language'

/** Shows a screen instead of an empty page when the client itself fails. */
export class Crash extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    return this.state.error ? <CrashScreen error={this.state.error} /> : this.props.children
  }
}

export function CrashScreen({ error }: { error: Error }) {
  const { t } = useText()
  return (
    <main>
      <Screen
        icon="warning"
        title={t('crash.title')}
        action={
          <Button variant="primary" onClick={() => window.location.reload()}>
            {t('reload')}
          </Button>
        }
      >
        {error.message}
      </Screen>
    </main>
  )
}
