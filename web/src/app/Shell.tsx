import { useQuery } from '@tanstack/react-query'
import { Outlet, useParams, useRouterState } from '@tanstack/react-router'
import { type ComponentType, Suspense, useCallback, useEffect, useMemo, useState } from 'react'
import { ApiFailure, getProjectOptions } from '../api'
import { IconButton } from '../components/Button'
import { Icon } from '../components/Icon'
import { type OpenDocument, OpenDocumentContext } from '../components/openDocument'
import { PageLink } from '../components/PageLink'
import { Failed, Loading } from '../components/Screen'
import { useMay } from '../components/session'
import { Kbd } from '../components/Text'
import { SearchPanel } from '../features/search/SearchPanel'
import { useText } from '../i18n/language'
import { address } from './addresses'
import styles from './app.module.css'
import { NotFound } from './NotFound'
import { Brand, Preferences } from './Preferences'
import { type Place, placesOf } from './places'
import { SignOut } from './SignOut'
import { shortcutOf, withModifier } from './shortcuts'

const loadPalette = () => import('./ProjectPalette').then((module) => module.default)
const loadReplace = () => import('../features/replace/ReplacePanel').then((module) => module.ReplacePanel)

type Panel = 'search' | 'replace-document' | 'replace-project' | null

export function Shell() {
  const { t } = useText()
  const { projectId: given } = useParams({ from: '/projects/$projectId' })
  const projectId = Number(given)
  const project = useQuery(getProjectOptions({ path: { project_id: projectId } }))
  const [panel, setPanel] = useState<Panel>(null)
  const [palette, setPalette] = useState(false)
  const [menu, setMenu] = useState(false)
  const [open, setOpen] = useState<OpenDocument | null>(null)
  const holder = useMemo(() => ({ open, setOpen }), [open])
  const path = useRouterState({ select: (state) => state.location.pathname })

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address closes the menu
  useEffect(() => setMenu(false), [path])
  useShortcuts(setPanel, setPalette)
  const replacing = panel === 'replace-document' || panel === 'replace-project'
  const Palette = useEarly(loadPalette, palette)
  const ReplacePanel = useEarly(loadReplace, replacing)

  const { match } = useMemo(() => address(projectId), [projectId])
  const opened = useCallback(() => {
    if (window.matchMedia('(max-width: 56rem)').matches) setPanel(null)
  }, [])

  if (project.error instanceof ApiFailure && project.error.status === 404) return <NotFound />
  if (project.isError && !project.data) {
    return (
      <main>
        <Failed error={project.error} onRetry={() => void project.refetch()} />
      </main>
    )
  }
  return (
    <OpenDocumentContext value={holder}>
      <div className={styles.shell}>
        <a className={styles.skip} href="#content">
          {t('skip')}
        </a>
        <div className={styles.bar}>
          <IconButton icon="menu" label={t('menu')} aria-expanded={menu} onClick={() => setMenu(!menu)} />
          <span>{project.data?.name}</span>
          <IconButton icon="search" label={t('search.title')} onClick={() => setPanel('search')} />
        </div>
        <Side
          name={project.data?.name ?? ''}
          projectId={projectId}
          path={path}
          open={menu}
          onSearch={() => {
            setMenu(false)
            setPanel('search')
          }}
          onReplace={() => {
            setMenu(false)
            setPanel('replace-project')
          }}
          onPalette={() => setPalette(true)}
        />
        {panel === 'search' && (
          <aside className={styles.panel} aria-label={t('search.title')}>
            <SearchPanel projectId={projectId} addressOf={match} onOpened={opened} onClose={() => setPanel(null)} />
          </aside>
        )}
        {replacing && (
          <aside className={styles.panel} aria-label={t('replace.title')}>
            {ReplacePanel ? (
              <ReplacePanel
                projectId={projectId}
                scope={panel === 'replace-document' ? 'document' : 'project'}
                addressOf={match}
                onClose={() => setPanel(null)}
              />
            ) : (
              <Loading />
            )}
          </aside>
        )}
        <main id="content" className={styles.content} tabIndex={-1}>
          <Suspense fallback={<Loading />}>
            <Outlet />
          </Suspense>
        </main>
        {palette && Palette && <Palette projectId={projectId} onClose={() => setPalette(false)} onPanel={setPanel} />}
      </div>
    </OpenDocumentContext>
  )
}

/**
 * Loads a component in a quiet moment, so that it opens at once, and what is typed after its shortcut does not go
 * elsewhere. (A lazy component would wait for 300 ms.)
 */
function useEarly<Props>(load: () => Promise<ComponentType<Props>>, wanted: boolean): ComponentType<Props> | null {
  const [loaded, setLoaded] = useState<ComponentType<Props> | null>(null)
  useEffect(() => {
    const timer = setTimeout(() => void load().then((component) => setLoaded(() => component)), wanted ? 0 : 1500)
    return () => clearTimeout(timer)
  }, [load, wanted])
  return loaded
}

function useShortcuts(setPanel: (panel: Panel) => void, setPalette: (open: boolean) => void) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const shortcut = shortcutOf(event)
      if (!shortcut) return
      event.preventDefault()
      if (shortcut === 'palette') setPalette(true)
      else setPanel(shortcut)
      if (shortcut !== 'palette') window.dispatchEvent(new Event('findspot:focus-panel'))
    }
    window.addEventListener('keydown', press)
    return () => window.removeEventListener('keydown', press)
  }, [setPanel, setPalette])
}

function Side({
  name,
  projectId,
  path,
  open,
  onSearch,
  onReplace,
  onPalette,
}: {
  name: string
  projectId: number
  path: string
  open: boolean
  onSearch: () => void
  onReplace: () => void
  onPalette: () => void
}) {
  const { t } = useText()
  const places = placesOf(projectId)
  const owner = useMay('owner')
  return (
    <div className={styles.side} data-open={open}>
      <div className={styles.sideHead}>
        <PageLink to="/">
          <Brand />
        </PageLink>
      </div>
      <PageLink to="/" className={styles.project}>
        <strong>{name || '\u00a0'}</strong>
        <span>{t(owner ? 'nav.allProjects' : 'nav.project')}</span>
      </PageLink>
      <div className={styles.finder}>
        <button type="button" className={styles.finderButton} onClick={onSearch}>
          <Icon name="search" />
          {t('search.title')}
          <Kbd>{withModifier('⇧F')}</Kbd>
        </button>
        <button type="button" className={styles.finderButton} onClick={onReplace}>
          <Icon name="replace" />
          {t('replace.title')}
          <Kbd>{withModifier('⇧H')}</Kbd>
        </button>
        <button type="button" className={styles.finderButton} onClick={onPalette}>
          <Icon name="right" />
          {t('palette.open')}
          <Kbd>{withModifier('P')}</Kbd>
        </button>
      </div>
      <nav className={styles.nav} aria-label={t('nav.title')}>
        <h2>{t('nav.write')}</h2>
        {places.write.map((place) => (
          <NavLink key={place.to} place={place} path={path} />
        ))}
        {places.build.length > 0 && <h2>{t('nav.build')}</h2>}
        {places.build.map((place) => (
          <NavLink key={place.to} place={place} path={path} />
        ))}
      </nav>
      <div className={styles.sideFoot}>
        <Preferences />
        <SignOut />
      </div>
    </div>
  )
}

function NavLink({ place, path }: { place: Place; path: string }) {
  const { t } = useText()
  const current = path === place.to || path.startsWith(`${place.to}/`)
  return (
    <PageLink to={place.to} aria-current={current ? 'page' : undefined}>
      <Icon name={place.icon} />
      {t(place.name)}
    </PageLink>
  )
}
