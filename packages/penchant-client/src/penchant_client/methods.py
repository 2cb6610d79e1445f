"""Methods of both clients: those whose requests are generated, and those that take more than one request."""

from penchant_client import flows, frames
from penchant_client.operations import OperationMethods
from penchant_client.senders import FlowMethod, ListingMethod, PagesMethod, RequestMethod


class Methods(OperationMethods):
    """Every operation of the interface under its name there, and a few that are several requests."""

    submit_content = FlowMethod(flows.submit_content)
    submit_frame = FlowMethod(frames.submit_frame)
    iterate_content = ListingMethod(flows.iterate_content)
    iterate_ids = ListingMethod(flows.iterate_ids)
    delete_content = FlowMethod(flows.delete_content)
    clear_content = RequestMethod(flows.clear_content)
    get_source = RequestMethod(flows.get_source)
    delete_source = RequestMethod(flows.delete_source)
    record_interaction = RequestMethod(flows.record_interaction)
    take_back = RequestMethod(flows.take_back)
    record_frame = FlowMethod(frames.record_frame)
    record_interactions = FlowMethod(flows.record_interactions)
    iterate_interactions = PagesMethod(flows.iterate_interactions)
    iterate_recommended = PagesMethod(flows.iterate_recommended)
    iterate_again = PagesMethod(flows.iterate_again)
    iterate_popular = PagesMethod(flows.iterate_popular)
    iterate_new = PagesMethod(flows.iterate_new)
    iterate_placement = PagesMethod(flows.iterate_placement)
    record_impressions = FlowMethod(flows.record_impressions)
    placement_results = RequestMethod(flows.placement_results)
    recommend_to_each = FlowMethod(flows.recommend_to_each)
    preview_settings = RequestMethod(flows.preview_settings)
    rank = RequestMethod(flows.rank)
    similar_to_each = FlowMethod(flows.similar_to_each)
    roll_back_placement = RequestMethod(flows.roll_back_placement)
    propose_draft = RequestMethod(flows.propose_draft)
    send_back_draft = RequestMethod(flows.send_back_draft)
    accept_draft = RequestMethod(flows.accept_draft)
    schedule_draft = RequestMethod(flows.schedule_draft)
    page_lists = RequestMethod(flows.page_lists)
    preview_placement = RequestMethod(flows.preview_placement)
    create_key = RequestMethod(flows.create_key)
    set_plan = RequestMethod(flows.set_plan)
    openapi = RequestMethod(flows.openapi)
