import type { ReactNode } from 'react'
import { Icon, type IconName } from './Icon'
import styles from './list.module.css'
import { PageLink } from './PageLink'

/** A framed list of things that can be opened. */
export function List({ children }: { children: ReactNode }) {
  return <ul className={styles.list}>{children}</ul>
}

/** One thing in a list: a link with its name and facts, and what can be done with it. */
export function ListItem({
  to,
  icon,
  name,
  text,
  facts,
  action,
}: {
  to: string
  icon: IconName
  name: string
  text?: string
  facts: ReactNode
  action?: ReactNode
}) {
  return (
    <li>
      <PageLink to={to}>
        <Icon name={icon} />
        <span className={styles.name}>
          <strong title={name}>{name}</strong>
          {text && <small title={text}>{text}</small>}
        </span>
        {facts}
      </PageLink>
      {action}
    </li>
  )
}
