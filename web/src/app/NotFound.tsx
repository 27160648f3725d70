import { buttonClass } from '../components/Button'
import { PageLink } from '../components/PageLink'
import { Screen } from '../components/Screen'
import { useText } from '../i18n/language'

export function NotFound() {
  const { t } = useText()
  return (
    <main>
      <Screen
        icon="warning"
        title={t('missing.title')}
        action={
          <PageLink to="/" className={buttonClass({})}>
            {t('nav.allProjects')}
          </PageLink>
        }
      >
        {t('missing.text')}
      </Screen>
    </main>
  )
}
