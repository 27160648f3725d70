import './client'

export { setApiLanguage } from './client'
export { ApiFailure, failureOf } from './failure'
export * from './generated/@tanstack/react-query.gen'
export * as api from './generated/sdk.gen'
export type * from './generated/types.gen'
