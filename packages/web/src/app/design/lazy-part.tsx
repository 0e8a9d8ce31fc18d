import { type ComponentType, type FunctionComponent, lazy, Suspense, useState } from 'react'
import { Button } from './button.js'

/**
 * A part of the page that is loaded when it is first rendered, such as a large editor. If loading
 * fails, only this part shows an error.
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): FunctionComponent<Props> {
  const Part = lazy(async () => ({ default: await load().catch(() => NotLoaded) }))
  return function LazyPart(props: Props) {
    return (
      <Suspense>
        <Part {...props} />
      </Suspense>
    )
  }
}

/** Browsers cache a failed module, so only a reload retries it. */
function NotLoaded() {
  const [isStillGone, setIsStillGone] = useState(false)
  const again = async (): Promise<void> => {
    const isThere = await fetch(location.href, { cache: 'no-store' }).then(
      ({ ok }) => ok,
      () => false,
    )
    setIsStillGone(!isThere)
    if (isThere) location.reload()
  }
  return (
    <span role="alert" className="flex flex-wrap items-center gap-2 p-1 text-sm">
      <span className="text-danger">
        {`This part of the page could not be loaded: the viewer’s server is ${isStillGone ? 'still ' : ''}not responding.`}
      </span>
      <Button onClick={() => void again()}>Try again</Button>
    </span>
  )
}
