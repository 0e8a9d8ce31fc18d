// Counts down to the expiry of requests, and reloads the page when something changes.
{
  const { events } = document.currentScript.dataset
  const tick = () => {
    for (const element of document.querySelectorAll('[data-until]')) {
      const left = Math.max(0, Math.round((Date.parse(element.dataset.until) - Date.now()) / 1000))
      const text = left < 90 ? `${left} s left` : `${Math.round(left / 60)} min left`
      element.textContent = left === 0 ? 'expired' : text
    }
  }
  tick()
  setInterval(tick, 1000)
  new EventSource(events).addEventListener('message', ({ data }) => {
    if (data === 'approvals' && !document.querySelector('input:focus')) location.reload()
  })
}
