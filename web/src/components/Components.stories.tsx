import type { Meta, StoryObj } from '@storybook/react-vite'
import { useText } from '../i18n/language'
import { Button, IconButton } from './Button'
import { ComboField } from './ComboField'
import { Actions, ConfirmDialog, Dialog } from './Dialog'
import { AreaField, BareField, Field, Form, Segments, SelectField } from './Field'
import { List, ListItem } from './List'
import { Panel } from './Panel'
import { Badge, Notice } from './Screen'
import { Ago, CopyButton, Marked, Progress } from './Text'
import { useToast } from './Toast'

const nothing = () => undefined
const meta: Meta = { title: 'Components' }
export default meta

function Texts() {
  const { t } = useText()
  const toast = useToast()
  return (
    <div>
      <Button variant="primary" icon="plus" onClick={() => toast({ text: t('tables.saved') })}>
        {t('create')}
      </Button>{' '}
      <Button danger>{t('delete')}</Button> <Button disabled>{t('save')}</Button>{' '}
      <IconButton icon="trash" label={t('delete')} /> <CopyButton text="x" />
      <p>
        <Badge tone="good">{t('index.ready')}</Badge> <Badge tone="bad">{t('index.error')}</Badge>{' '}
        <Ago time="2026-11-14T12:00:00Z" />
      </p>
      <Notice>{t('search.degraded')}</Notice>
      <Progress value={30} max={100} label={t('index.indexing')} />
      <p>
        <Marked
          text="The 😀 keeper 守塔人"
          ranges={[
            [6, 12],
            [13, 16],
          ]}
        />
      </p>
    </div>
  )
}

function Fields() {
  const { t } = useText()
  return (
    <Form onSubmit={nothing}>
      <Field label={t('name')} hint={t('tools.pointerHint')} />
      <Field label={t('title')} error={t('signin.wrong')} />
      <AreaField label={t('tables.value')} value="{}" onChange={nothing} code />
      <SelectField label={t('type')} options={[['a', t('kind.object')]]} />
      <ComboField
        label={t('search.inDocument')}
        any={t('search.anyDocument')}
        none={t('documents.noMatch')}
        options={[{ value: 1, label: '灯塔日记' }]}
        value={1}
        onChange={nothing}
      />
      <Segments
        label={t('search.strategy')}
        value="hybrid"
        onChange={nothing}
        options={[
          ['hybrid', t('search.hybrid')],
          ['fts', t('search.fts')],
        ]}
      />
    </Form>
  )
}

function ADialog() {
  const { t } = useText()
  return (
    <Dialog title={t('projects.new')} onClose={nothing}>
      <p>{t('projects.noneText')}</p>
      <Actions>
        <Button>{t('cancel')}</Button>
      </Actions>
    </Dialog>
  )
}

function Confirmation() {
  const { t } = useText()
  return (
    <ConfirmDialog
      title={t('projects.delete', { name: '灯塔' })}
      text={t('tables.deleteText', { tools: 2 })}
      typedName="灯塔"
      onConfirm={nothing}
      onClose={nothing}
    />
  )
}

function Things() {
  const { t } = useText()
  return (
    <List>
      <ListItem to="/1" icon="table" name="Novel" facts={<span>11 kB</span>} />
      <ListItem
        to="/2"
        icon="search"
        name="search_chapters"
        text={t('tools.descriptionHint')}
        facts={<Badge tone="accent">search</Badge>}
        action={<IconButton icon="trash" label={t('delete')} />}
      />
    </List>
  )
}

function Beside() {
  const { t } = useText()
  return (
    <Panel controls={<BareField label={t('search.title')} />} onClose={nothing}>
      <p>{t('search.startText')}</p>
    </Panel>
  )
}

export const Confirm: StoryObj = { render: () => <Confirmation /> }
export const ListOfThings: StoryObj = { render: () => <Things /> }
export const SidePanel: StoryObj = { render: () => <Beside /> }
export const ButtonsAndTexts: StoryObj = { render: () => <Texts /> }
export const FormFields: StoryObj = { render: () => <Fields /> }
export const ModalDialog: StoryObj = { render: () => <ADialog /> }
