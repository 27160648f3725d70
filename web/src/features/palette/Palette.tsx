import { useQuery } from '@tanstack/react-query'
import { Command } from 'cmdk'
import { useEffect, useRef } from 'react'
import { ApiFailure, api, type DocumentSummary } from '../../api'
import { Icon, type IconName } from '../../components/Icon'
import { Marked } from '../../components/Text'
import { useTyped } from '../../components/useTyped'
import { useText } from '../../i18n/language'
import { hasWords } from '../../text/titles'
import styles from './palette.module.css'

export interface PaletteCommand {
  readonly id: string
  readonly label: string
  readonly icon: IconName
  readonly shortcut?: string
  readonly run: () => void
}

const TITLES = 8
const PASSAGES = 8

/** Finds documents by title and content, and runs commands, by keyboard alone. */
export function Palette({
  projectId,
  documents,
  recent,
  commands,
  onDocument,
  onMatch,
  onClose,
}: {
  projectId: number
  documents: readonly DocumentSummary[]
  recent: readonly number[]
  commands: readonly PaletteCommand[]
  onDocument: (id: number) => void
  onMatch: (id: number, start: number, end: number) => void
  onClose: () => void
}) {
  const { t } = useText()
  const dialog = useRef<HTMLDialogElement>(null)
  const typed = useTyped('', 120)
  useEffect(() => {
    const before = document.activeElement
    const shown = dialog.current
    shown?.showModal()
    shown?.querySelector('input')?.focus()
    return () => {
      shown?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const query = typed.settled.trim()
  const passages = useQuery({
    queryKey: ['palette', projectId, query],
    enabled: query.length > 0,
    queryFn: async ({ signal }) => {
      const body = { query, strategy: 'hybrid' as const, typing: true, limit: PASSAGES }
      const { data } = await api.searchDocuments({ path: { project_id: projectId }, body, signal, throwOnError: true })
      return data.results
    },
    placeholderData: (before) => (query ? before : undefined),
  })
  const run = (action: () => void) => {
    onClose()
    action()
  }
  const failureText = (error: Error) =>
    error instanceof ApiFailure && error.code !== 'OFFLINE' ? error.notice : t('offline.title')
  const { titles, offered } = choices(typed.text, documents, recent, commands)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the palette closes it, as Escape does
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-label={t('palette.title')}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <Command label={t('palette.title')} shouldFilter={false} loop className={styles.command}>
        <Command.Input
          className={styles.input}
          placeholder={t('palette.placeholder')}
          value={typed.text}
          onValueChange={typed.change}
          onCompositionStart={typed.field.onCompositionStart}
          onCompositionEnd={typed.field.onCompositionEnd}
          autoFocus
        />
        <Command.List className={styles.list}>
          <Command.Empty className={styles.empty}>
            {passages.isError ? failureText(passages.error) : t(passages.isLoading ? 'loading' : 'palette.none')}
          </Command.Empty>
          {titles.length > 0 && (
            <Command.Group heading={t(typed.text.trim() ? 'nav.documents' : 'palette.recent')}>
              {titles.map((each) => (
                <Command.Item
                  key={each.id}
                  value={`document ${each.id}`}
                  onSelect={() => run(() => onDocument(each.id))}
                >
                  <Icon name="document" />
                  <span>{each.title}</span>
                  <small>{each.path ?? each.type}</small>
                </Command.Item>
              ))}
            </Command.Group>
          )}
          {query && passages.data && passages.data.length > 0 && (
            <Command.Group heading={t('palette.content')}>
              {passages.data.map((each) => (
                <Command.Item
                  key={each.chunkId}
                  value={`passage ${each.chunkId}`}
                  onSelect={() => run(() => onMatch(each.documentId, ...target(each)))}
                >
                  <Icon name="search" />
                  <span>
                    <Marked text={each.snippet} ranges={each.highlights} />
                  </span>
                  <small>{each.documentTitle}</small>
                </Command.Item>
              ))}
            </Command.Group>
          )}
          {offered.length > 0 && (
            <Command.Group heading={t('palette.commands')}>
              {offered.map((each) => (
                <Command.Item key={each.id} value={`command ${each.id}`} onSelect={() => run(each.run)}>
                  <Icon name={each.icon} />
                  <span>{each.label}</span>
                  {each.shortcut && <kbd>{each.shortcut}</kbd>}
                </Command.Item>
              ))}
            </Command.Group>
          )}
        </Command.List>
      </Command>
    </dialog>
  )
}

function target(result: { startOffset: number; endOffset: number; highlights: number[][] }): [number, number] {
  const [first] = result.highlights
  if (!first) return [result.startOffset, result.endOffset]
  return [result.startOffset + (first[0] ?? 0), result.startOffset + (first[1] ?? 0)]
}

/** Returns the documents and commands that fit what is typed; without a text the recent documents. */
export function choices(
  text: string,
  documents: readonly DocumentSummary[],
  recent: readonly number[],
  commands: readonly PaletteCommand[],
) {
  const fits = hasWords(text)
  if (text.trim() === '') {
    const byId = new Map(documents.map((each) => [each.id, each]))
    const titles = recent.flatMap((id) => byId.get(id) ?? []).slice(0, TITLES)
    return { titles, offered: commands }
  }
  return {
    titles: documents.filter((each) => fits(each.title)).slice(0, TITLES),
    offered: commands.filter((each) => fits(each.label)),
  }
}
