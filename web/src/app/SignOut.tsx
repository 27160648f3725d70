import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../api'
import { IconButton } from '../components/Button'
import { useOpenDocument } from '../components/openDocument'
import { useToast } from '../components/Toast'
import { useText } from '../i18n/language'

/** Signs out, once the open document is saved. */
export function SignOut() {
  const { t } = useText()
  const toast = useToast()
  const queries = useQueryClient()
  const { open } = useOpenDocument()
  const signOut = useMutation({
    mutationFn: async () => {
      if (open && !(await open.save())) throw new Error(t('signout.unsaved'))
      await api.signOut({ throwOnError: true })
    },
    onSuccess: () => queries.resetQueries(),
    onError: (error) => toast({ text: error.message }),
  })
  return (
    <IconButton icon="signout" label={t('signout')} disabled={signOut.isPending} onClick={() => signOut.mutate()} />
  )
}
