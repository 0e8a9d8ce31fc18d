import { client } from './client.js'
import { makeLiveActions } from './live-actions.js'
import { ServerSource } from './server-source.js'
import type { ViewerHome } from './viewer-home.js'

/** The home behind the server this page came from. */
export async function connectHome(): Promise<ViewerHome> {
  const { name, canChange } = await (await client.home.$get()).json()
  return {
    name,
    onlyRun: undefined,
    runs: async () => (await client.runs.$get()).json(),
    run: (id) => new ServerSource(id),
    abilities: async (id) =>
      (await (await client.runs[':run'].$get({ param: { run: id } })).json()).abilities,
    watch: () => () => {},
    live: canChange ? makeLiveActions(client) : undefined,
  }
}
