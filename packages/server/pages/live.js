// Updates the figures after a change. Waits until shared figures have expired, so that the new ones
// include the change.
{
  const { events, waitMs } = document.currentScript.dataset
  let timer
  const load = async () => {
    timer = undefined
    try {
      const response = await fetch(`${location.pathname}?part=live`, {
        headers: { accept: 'text/html' },
      })
      if (response.ok) document.getElementById('live').innerHTML = await response.text()
    } catch {
      // The next change tries again.
    }
  }
  new EventSource(events).addEventListener('message', () => {
    timer ??= setTimeout(load, Number(waitMs))
  })
}
