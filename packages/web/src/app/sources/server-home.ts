import { client } from './client.js'
import type { ChangeLine } from '../../api/answer-changes.js'
import { HomeConnection } from './home-connection.js'
import { makeLiveActions } from './live-actions.js'
import { readLines } from './read-lines.js'
import { SeenRuns } from './seen-runs.js'
import { readHead, ServerSource } from './server-source.js'
import type { ViewerHome } from './viewer-home.js'

/** The home behind the server this page came from. */
export async function connectHome(): Promise<ViewerHome> {
  const { name, canChange } = await (await client.home.$get()).json()
  const seen = new SeenRuns()
  const connection = new HomeConnection({
    connect: async function* (signal) {
      yield* readLines<ChangeLine>(await client.changes.$get({}, { init: { signal } }))
    },
    catchUp: async (tell, { isFirst, wasBroken }) => {
      if (!isFirst) tell({ type: 'runs' })
      await seen.tellChanged(readHead, tell, wasBroken)
    },
  })
  return {
    name,
    onlyRun: undefined,
    runs: async () => (await client.runs.$get()).json(),
    run: (id) => new ServerSource(id, (head) => seen.note(id, head)),
    abilities: async (id) =>
      (await (await client.runs[':run'].$get({ param: { run: id } })).json()).abilities,
    watch: (tell) => connection.watch(tell),
    live: canChange ? makeLiveActions(client) : undefined,
  }
}
