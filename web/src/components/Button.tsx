import type { ButtonHTMLAttributes, Ref } from 'react'
import { Icon, type IconName } from './Icon'
import styles from './ui.module.css'

interface Look {
  readonly variant?: 'plain' | 'primary' | 'quiet'
  readonly size?: 'medium' | 'small'
  readonly danger?: boolean
}

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement>, Look {
  readonly icon?: IconName
  readonly ref?: Ref<HTMLButtonElement>
}

export function buttonClass({ variant = 'plain', size = 'medium', danger = false }: Look, iconOnly = false): string {
  const names = [styles.button]
  if (variant === 'primary') names.push(styles.primary)
  if (variant === 'quiet') names.push(styles.quiet)
  if (size === 'small') names.push(styles.small)
  if (danger) names.push(styles.danger)
  if (iconOnly) names.push(styles.icononly)
  return names.join(' ')
}

export function Button({ variant, size, danger, icon, children, ...rest }: ButtonProps) {
  return (
    <button type="button" className={buttonClass({ variant, size, danger })} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A button with only an icon; `label` is its name. */
export function IconButton({
  icon,
  label,
  variant = 'quiet',
  size,
  danger,
  ...rest
}: Omit<ButtonProps, 'children'> & { icon: IconName; label: string }) {
  return (
    <button
      type="button"
      className={buttonClass({ variant, size, danger }, true)}
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  )
}

/** Letters that serve as the picture of a button; its label is its name. */
export function Sign({ text }: { text: string }) {
  return <span className={styles.sign} data-sign={text} aria-hidden="true" />
}
