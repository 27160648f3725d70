import type { Editor } from '@tiptap/core'
import { useEditorState } from '@tiptap/react'
import { Button, IconButton, Sign } from '../../components/Button'
import { useText } from '../../i18n/language'
import styles from './editor.module.css'

export function Toolbar({ editor }: { editor: Editor }) {
  const { t } = useText()
  const on = useEditorState({
    editor,
    selector: ({ editor: now }) => ({
      bold: now.isActive('bold'),
      italic: now.isActive('italic'),
      one: now.isActive('heading', { level: 1 }),
      two: now.isActive('heading', { level: 2 }),
      list: now.isActive('bulletList'),
      quote: now.isActive('blockquote'),
      code: now.isActive('codeBlock'),
    }),
  })
  const run = () => editor.chain().focus()
  return (
    <div className={styles.toolbar} role="toolbar" aria-label={t('editor.toolbar')}>
      <IconButton
        size="small"
        icon="bold"
        label={t('editor.bold')}
        aria-pressed={on.bold}
        onClick={() => run().toggleBold().run()}
      />
      <IconButton
        size="small"
        icon="italic"
        label={t('editor.italic')}
        aria-pressed={on.italic}
        onClick={() => run().toggleItalic().run()}
      />
      <Button
        size="small"
        variant="quiet"
        aria-label={t('editor.heading', { level: 1 })}
        aria-pressed={on.one}
        onClick={() => run().toggleHeading({ level: 1 }).run()}
      >
        <Sign text="H1" />
      </Button>
      <Button
        size="small"
        variant="quiet"
        aria-label={t('editor.heading', { level: 2 })}
        aria-pressed={on.two}
        onClick={() => run().toggleHeading({ level: 2 }).run()}
      >
        <Sign text="H2" />
      </Button>
      <IconButton
        size="small"
        icon="list"
        label={t('editor.list')}
        aria-pressed={on.list}
        onClick={() => run().toggleBulletList().run()}
      />
      <IconButton
        size="small"
        icon="quote"
        label={t('editor.quote')}
        aria-pressed={on.quote}
        onClick={() => run().toggleBlockquote().run()}
      />
      <IconButton
        size="small"
        icon="codeblock"
        label={t('editor.code')}
        aria-pressed={on.code}
        onClick={() => run().toggleCodeBlock().run()}
      />
    </div>
  )
}
