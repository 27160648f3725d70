import { z } from 'zod'
import { failureOf } from './failure'
import { client } from './generated/client.gen'

z.config({ jitless: true }) // the Content-Security-Policy forbids generated code

let language = 'en'

/** Sets the language in which the server writes notices. */
export function setApiLanguage(chosen: string): void {
  language = chosen
}

client.setConfig({ baseUrl: '', credentials: 'same-origin', cache: 'no-store' })
client.interceptors.request.use((request) => {
  request.headers.set('Accept-Language', language)
  return request
})
client.interceptors.error.use((error, response) => failureOf(error, response as Response | undefined))

export { client }
