import { Projects } from '../features/projects/Projects'
import { address } from './addresses'
import styles from './app.module.css'
import { Brand, Preferences } from './Preferences'
import { SignOut } from './SignOut'

export function ProjectsPage() {
  return (
    <div className={styles.plainShell}>
      <div className={styles.plainHead}>
        <Brand />
        <div className={styles.preferences}>
          <Preferences />
          <SignOut />
        </div>
      </div>
      <main>
        <Projects addressOf={(id) => address(id).documents} />
      </main>
    </div>
  )
}
