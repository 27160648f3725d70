import { memo } from 'react'
import type { PreviewMatch, ReplacePreview } from '../../api'
import { Button } from '../../components/Button'
import { Badge, Notice } from '../../components/Screen'
import { useMay } from '../../components/session'
import { useText } from '../../i18n/language'
import { endOf, startOf } from './context'
import styles from './replace.module.css'
import { keyOf, type Place } from './rule'

/** What a replace would change: a difference and a tick for every match, by document. */
export const PreviewList = memo(PreviewByDocument)

function PreviewByDocument({
  preview,
  unticked,
  current,
  onTick,
  onMore,
  onChoose,
}: {
  preview: ReplacePreview
  unticked: ReadonlySet<string>
  current: Place | undefined
  onTick: (places: readonly Place[]) => void
  onMore: () => void
  onChoose: (place: Place) => void
}) {
  const { t } = useText()
  const mayWrite = useMay('write')
  return (
    <div className={styles.preview}>
      {preview.skipped.length > 0 && <Notice>{t('replace.skipped', { count: preview.skipped.length })}</Notice>}
      {preview.items.map(({ documentId, documentTitle, matches, matchCount, changed }) => {
        const places = matches.map(({ start }) => ({ documentId, start }))
        const ticked = places.filter((place) => !unticked.has(keyOf(place))).length
        return (
          <section key={documentId} aria-label={documentTitle}>
            <h3>
              {mayWrite && (
                <input
                  type="checkbox"
                  aria-label={t('replace.tickAll', { title: documentTitle })}
                  checked={ticked > 0}
                  ref={(box) => {
                    if (box) box.indeterminate = ticked > 0 && ticked < places.length
                  }}
                  onChange={() => onTick(ticked > 0 ? places.filter((place) => !unticked.has(keyOf(place))) : places)}
                />
              )}
              <span title={documentTitle}>{documentTitle}</span>
              <Badge>{matchCount}</Badge>
            </h3>
            {changed && <Notice>{t('replace.changed')}</Notice>}
            <ul>
              {matches.map((match) => (
                <Match
                  key={match.start}
                  match={match}
                  ticked={!unticked.has(keyOf({ documentId, start: match.start }))}
                  current={current?.documentId === documentId && current.start === match.start}
                  onTick={mayWrite ? () => onTick([{ documentId, start: match.start }]) : undefined}
                  onChoose={() => onChoose({ documentId, start: match.start })}
                />
              ))}
            </ul>
          </section>
        )
      })}
      {preview.hasMore && <Button onClick={onMore}>{t('replace.more')}</Button>}
    </div>
  )
}

function Match({
  match,
  ticked,
  current,
  onTick,
  onChoose,
}: {
  match: PreviewMatch
  ticked: boolean
  current: boolean
  onTick?: () => void
  onChoose: () => void
}) {
  const { t } = useText()
  return (
    <li className={styles.match} data-current={current} data-ticked={ticked}>
      {onTick && (
        <input
          type="checkbox"
          checked={ticked}
          aria-label={t('replace.tick', { before: match.before, after: match.after })}
          onChange={onTick}
        />
      )}
      <button type="button" aria-current={current ? 'true' : undefined} onClick={onChoose}>
        {endOf(match.leading)}
        <del>{match.before}</del>
        <wbr />
        <ins>{match.after}</ins>
        {startOf(match.trailing)}
      </button>
    </li>
  )
}
