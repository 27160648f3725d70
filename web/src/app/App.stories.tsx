import type { Meta, StoryObj } from '@storybook/react-vite'
import { CrashScreen } from './Crash'
import { NotFound } from './NotFound'
import { SignIn } from './Session'

const meta: Meta = { title: 'App' }
export default meta

export const SigningIn: StoryObj = { render: () => <SignIn /> }
export const Missing: StoryObj = { render: () => <NotFound /> }
export const Crashed: StoryObj = { render: () => <CrashScreen error={new Error('Something is undefined')} /> }
