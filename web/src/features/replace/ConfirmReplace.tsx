import { useState } from 'react'
import { Button } from '../../components/Button'
import { Actions, Dialog } from '../../components/Dialog'
import { Notice } from '../../components/Screen'
import { Soft } from '../../components/Text'
import { useText } from '../../i18n/language'
import styles from './replace.module.css'
import type { Rule } from './rule'

export function ConfirmReplace({
  rule,
  counts,
  risky,
  onCancel,
  onConfirm,
}: {
  rule: Rule
  counts: { readonly matches: number; readonly documents: number }
  risky: boolean
  onCancel: () => void
  onConfirm: (confirmedRisk: boolean) => void
}) {
  const { t } = useText()
  const [sure, setSure] = useState(false)
  return (
    <Dialog title={t('replace.confirm')} onClose={onCancel}>
      <p className={styles.sentence}>
        <del>{rule.search}</del> → <ins>{rule.replace || t('replace.nothing')}</ins>
      </p>
      <p>{t('replace.counts', counts)}</p>
      <Soft>{t('replace.safe')}</Soft>
      {risky && (
        <>
          <Notice>{t(rule.replace === '' ? 'replace.riskEmpty' : 'replace.riskMany')}</Notice>
          <label className={styles.sure}>
            <input type="checkbox" checked={sure} onChange={(event) => setSure(event.target.checked)} />
            {t('replace.sure')}
          </label>
        </>
      )}
      <Actions>
        <Button onClick={onCancel}>{t('cancel')}</Button>
        <Button variant="primary" disabled={risky && !sure} onClick={() => onConfirm(risky)}>
          {t('replace.do', { count: counts.matches })}
        </Button>
      </Actions>
    </Dialog>
  )
}
