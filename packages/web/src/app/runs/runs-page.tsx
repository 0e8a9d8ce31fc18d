import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useHome } from '../sources/viewer-home.js'

/** All runs of the home, newest first. */
export function RunsPage() {
  const home = useHome()
  const runs = useQuery({ queryKey: ['runs'], queryFn: () => home.runs() })
  return (
    <main className="p-4">
      <h1 className="mb-2 text-xl">{home.name}</h1>
      <ul>
        {runs.data?.map((run) => (
          <li key={run.id}>
            <Link to="/runs/$run" params={{ run: run.id }} search={{}}>
              {run.id}
            </Link>
          </li>
        ))}
      </ul>
    </main>
  )
}
