import type { Meta, StoryObj } from '@storybook/react-vite'
import { ApiFailure } from '../../api'
import { ConflictView } from './Conflict'
import { SaveMark } from './SaveMark'

const nothing = () => undefined
const saveAs = async () => undefined
const meta: Meta = { title: 'Editor' }
export default meta

export const Saved: StoryObj = { render: () => <SaveMark state="saved" /> }
export const Saving: StoryObj = { render: () => <SaveMark state="saving" /> }
export const NotSaved: StoryObj = { render: () => <SaveMark state="failed" /> }
export const Conflict: StoryObj = {
  render: () => (
    <ConflictView
      mine={'The lamp was red.\n林远走进港口。'}
      theirs={{ text: 'The lamp was green.', updatedAt: '2026-11-16T12:00:00Z' }}
      onKeepMine={nothing}
      onTakeTheirs={nothing}
      onSaveAs={saveAs}
    />
  ),
}
export const ConflictWithADeletedDocument: StoryObj = {
  render: () => (
    <ConflictView
      mine={'The lamp was red.\n林远走进港口。'}
      theirs={undefined}
      error={new ApiFailure('NOT_FOUND', 404, 'There is no such document.')}
      onKeepMine={nothing}
      onTakeTheirs={nothing}
      onSaveAs={saveAs}
    />
  ),
}
