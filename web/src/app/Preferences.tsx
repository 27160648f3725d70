import { IconButton } from '../components/Button'
import type { IconName } from '../components/Icon'
import { useText } from '../i18n/language'
import styles from './app.module.css'
import { chooseTheme, type Theme, useTheme } from './theme'

const NEXT: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' }
const ICONS: Record<Theme, IconName> = { auto: 'auto', light: 'sun', dark: 'moon' }

export function Brand() {
  return (
    <span className={styles.brand}>
      Find<span>spot</span>
    </span>
  )
}

/** Theme and language. */
export function Preferences() {
  const { t, language, choose } = useText()
  const theme = useTheme()
  return (
    <div className={styles.preferences}>
      <IconButton
        icon={ICONS[theme]}
        label={t('theme', { theme: t(`theme.${theme}`) })}
        onClick={() => chooseTheme(NEXT[theme])}
      />
      <button
        type="button"
        className={styles.languageButton}
        lang={language === 'en' ? 'zh' : 'en'}
        onClick={() => choose(language === 'en' ? 'zh' : 'en')}
      >
        {language === 'en' ? '中文' : 'English'}
      </button>
    </div>
  )
}
